from sklearn.utils.estimator_checks import parametrize_with_checks

from fedbayes.models.ande import AnDEClassifier


@parametrize_with_checks([AnDEClassifier(n=0), AnDEClassifier(n=1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
