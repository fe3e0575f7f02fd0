"""The compiled engine below the averaged n-dependence estimators."""
