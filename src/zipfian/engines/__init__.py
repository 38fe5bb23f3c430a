"""Other engines behind the verbs of `Collection`."""
