"""human."""
