/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/sys.h"
#include "abi/rsocket/config.h"
#include "abi/rsocket/wire.h"

#define FOLDER	 "/etc/rdma/rsocket"
#define MAX_MEM	 (1u << 30)
#define MAX_SIZE 0xfffe

static struct adv_rs_config current;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Reads the number in a file. Sets *value if the number is from low to high. */
static void read_number(const char *folder, const char *name, uint32_t low, uint32_t high,
			uint32_t *value)
{
	char path[256], text[32];
	unsigned long number;
	char *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = adv_sys_open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = adv_sys_read(fd, text, sizeof(text) - 1);
	adv_sys_close(fd);
	if (n <= 0)
		return;
	text[n] = 0;
	errno = 0;
	number = strtoul(text, &end, 10);
	if (end != text && !errno && number >= low && number <= high)
		*value = (uint32_t)number;
}

void adv_rs_config_read(struct adv_rs_config *config, const char *folder)
{
	*config = (struct adv_rs_config){
		.rcvbuf = 1 << 17,
		.sndbuf = 1 << 17,
		.sq_size = 384,
		.rq_size = 384,
		.inline_size = 64,
		.polling_us = 10,
		.wake_up_ms = 500,
	};
	read_number(folder, "mem_default", 1, MAX_MEM, &config->rcvbuf);
	read_number(folder, "wmem_default", 1, MAX_MEM, &config->sndbuf);
	read_number(folder, "sqsize_default", 1, MAX_SIZE, &config->sq_size);
	read_number(folder, "rqsize_default", 1, MAX_SIZE, &config->rq_size);
	read_number(folder, "inline_default", 0, MAX_SIZE, &config->inline_size);
	read_number(folder, "iomap_size", 0, MAX_SIZE, &config->mappings);
	read_number(folder, "polling_time", 0, UINT32_MAX, &config->polling_us);
	read_number(folder, "wake_up_interval", 1, 1 << 30, &config->wake_up_ms);
	config->mappings = adv_rs_round_mappings(config->mappings);
}

static void read_once(void)
{
	adv_rs_config_read(&current, FOLDER);
}

const struct adv_rs_config *adv_rs_config(void)
{
	pthread_once(&once, read_once);
	return &current;
}
