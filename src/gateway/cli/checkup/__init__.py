"""What `doctor` looks at, each part in a file of its own."""
