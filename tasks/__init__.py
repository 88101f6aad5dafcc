"""What `./task` is made of."""
