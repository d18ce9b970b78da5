version = "@good@"


def price(units):
    return units * @rate@
