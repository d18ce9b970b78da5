"""What every package stands on: settings, exceptions, and the version of the engine."""
