"""The front door: what `import envmill` offers. The command line uses the same functions."""
