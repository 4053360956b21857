/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the sanitizer's observer. */
#include "abi/rdmacm/watch.h"

#include "abi/check/attach.h"

const struct adv_check_observer *adv_rdma_observer;

__attribute__((constructor)) static void find_observer(void)
{
	adv_rdma_observer = adv_check_attach(NULL, &adv_rdma_observer);
}
