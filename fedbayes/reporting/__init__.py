"""Tables, figures and claims, made from result files alone."""
