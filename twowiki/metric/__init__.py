"""metric."""
