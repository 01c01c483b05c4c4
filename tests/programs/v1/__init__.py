"""Programs of TensorFlow's first generation: graphs and sessions."""
