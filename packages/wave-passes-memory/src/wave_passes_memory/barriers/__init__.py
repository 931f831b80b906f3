"""The fewest barriers that order all dependences through shared memory."""
