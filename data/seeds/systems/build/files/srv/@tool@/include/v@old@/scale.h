#define HEADERS @old@
double scale(double x);
