// LENTO_API marks what liblento exports; everything else in it is hidden.
#pragma once

#define LENTO_API __attribute__((visibility("default")))
