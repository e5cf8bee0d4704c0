"""Everything that iterates; every entry point returns a result with value, status and path."""
