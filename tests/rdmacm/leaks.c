/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* librdmacm keeps the device open until the end, as rdma_get_devices(3) says. Only memory of mmap()
 * then refers to the UDP link's allocations, and the leak sanitizer does not search there. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:adv_udp_set_addresses\n";
}
