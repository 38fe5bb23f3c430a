"""What requests and answers look like: the one source of validation, of the OpenAPI document and of its examples."""
