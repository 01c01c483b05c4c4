"""Image files: BMP and PNG, and the formats that Pillow reads."""
