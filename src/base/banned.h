/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that are easy to misuse do not compile. Every .c file of src/ and cli/ includes this
 * header last, because system headers after it may mention the names (tools/check-deps looks).
 */
#ifndef MP_BANNED_H
#define MP_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets strtok localtime gmtime ctime asctime

#endif
