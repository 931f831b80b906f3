"""The view ``wave inspect --what memory``."""
