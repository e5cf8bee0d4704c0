"""Pure mathematics on small arrays; nothing here iterates to a tolerance."""
