"""Federated Bayesian classifiers and the reproduction of the two papers that introduce them."""

__version__ = "0.1.0"
