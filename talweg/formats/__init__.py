"""File formats: the parts of files and messages, read and written without tensors."""
