"""What the commands do, apart from parsing their arguments."""
