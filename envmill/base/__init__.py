"""What every package stands on: settings, errors, and the version of the engine."""
