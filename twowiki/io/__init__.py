"""Files: reading, writing, packing, stages, arguments. Nothing here knows a field."""
