version = "@bad@"


def price(units):
    return units * 9
