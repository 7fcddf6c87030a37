#include <iostream>
#include <onward/error.hpp>

int main() { std::cout << "rhat\n"; }
