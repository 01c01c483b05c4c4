"""Image files: BMP and PNG, and what Pillow reads of others."""
