"""File formats: what files and messages consist of, read and written without tensors."""
