"""Landscape: the loss as a function of the parameters, its curvature, and estimators with an error and a budget."""
