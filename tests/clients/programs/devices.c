/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints the number of RDMA devices. Built with a DT_RPATH that leads to the system's libibverbs.
 */
#include <infiniband/verbs.h>
#include <stdio.h>

int main(void)
{
	int count = 0;

	(void)ibv_get_device_list(&count);
	printf("devices: %d\n", count);
	return 0;
}
