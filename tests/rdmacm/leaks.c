/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Suppresses false reports of leaks. librdmacm keeps the device open until the process ends, as
 * rdma_get_devices(3) says. Then only memory of mmap() refers to the allocations of the UDP link,
 * and the leak sanitizer does not search that memory. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:adv_udp_set_addresses\n";
}
