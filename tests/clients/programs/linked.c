/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stands for a program that is statically linked with libibverbs: it looks into the same folder. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	printf("devices: %d\n", access("/sys/class/infiniband_verbs/uverbs0", F_OK) == 0);
	return 0;
}
