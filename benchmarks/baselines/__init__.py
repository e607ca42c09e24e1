"""What one would write without this project; every doubtful choice is made in its favour."""
