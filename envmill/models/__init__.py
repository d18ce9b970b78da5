"""Models: providers, the bounded and journalled calls to them, and the repair of unusable
replies."""
