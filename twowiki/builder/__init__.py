"""The `datasets` builder, its registration, the export to Parquet, and the dataset card."""
