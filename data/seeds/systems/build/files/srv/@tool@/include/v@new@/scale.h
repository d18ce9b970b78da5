#define HEADERS @new@
double scale(double x);
