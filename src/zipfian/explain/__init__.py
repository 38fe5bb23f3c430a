"""Why a document was found: scores as trees, terms, and the places in the text that matched."""
