"""Where the rows live: one contract for reading them, one implementation per kind of storage."""
