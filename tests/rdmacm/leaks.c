/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* librdmacm keeps the device open to the end, as rdma_get_devices(3) says. What the UDP link has
 * allocated is then found from memory of mmap() only, where the leak sanitizer does not look. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:adv_udp_set_addresses\n";
}
