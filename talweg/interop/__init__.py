"""Exchange with TensorFlow: GraphDefs, SavedModels and object checkpoints."""
