/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/identity/roce.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/sys.h"
#include "runtime/link/port.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static enum adv_roce chosen;

enum adv_roce adv_roce_named(const char *name)
{
	static const char *const names[] = {
		[ADV_ROCE_V2] = "v2",
		[ADV_ROCE_V1] = "v1",
		[ADV_ROCE_BOTH] = "both",
	};
	int i = 0;

	while (i < ADV_ROCE_UNKNOWN && strcmp(name, names[i]) != 0)
		i++;
	return (enum adv_roce)i;
}

static bool may_open_packet_sockets(void)
{
	int fd = adv_sys_socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		adv_sys_close(fd);
	return fd >= 0;
}

/* True if the process is on a host of an emulated fabric, whose ports carry RoCE v1 without packet
 * sockets. */
static bool has_port(void)
{
	int fd = adv_port_dial();

	if (fd >= 0)
		adv_sys_close(fd);
	return fd >= 0;
}

static void choose_versions(void)
{
	const char *name = getenv(ADV_ROCE_VARIABLE);

	chosen = name && *name ? adv_roce_named(name) : ADV_ROCE_V2;
	if (chosen == ADV_ROCE_BOTH && !may_open_packet_sockets() && !has_port()) {
		adv_info("no RoCE v1 GIDs: this process may not open packet sockets "
			 "(CAP_NET_RAW)");
		chosen = ADV_ROCE_V2;
	}
}

enum adv_roce adv_roce(void)
{
	pthread_once(&once, choose_versions);
	return chosen;
}

static void append_v1(struct adv_gid_table *t)
{
	const uint32_t count = t->count;

	for (uint32_t i = 0; i < count && t->count < ADV_GID_TABLE_ENTRIES; i++) {
		t->entry[t->count] = t->entry[i];
		t->entry[t->count++].type = ADV_GID_ROCE_V1;
	}
}

void adv_roce_change_table(struct adv_gid_table *t, enum adv_roce roce)
{
	if (roce == ADV_ROCE_BOTH)
		append_v1(t);
	for (uint32_t i = 0; roce == ADV_ROCE_V1 && i < t->count; i++)
		t->entry[i].type = ADV_GID_ROCE_V1;
}
