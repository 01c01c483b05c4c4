"""TensorFlow's surface: thin functions over primitives, exported under all their public names."""
