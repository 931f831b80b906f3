"""What ``wave inspect --what memory`` shows."""
