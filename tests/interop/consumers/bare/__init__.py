"""An adapter that adds nothing."""
