/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Protection domains (IBTA 10.2.3) and XRC domains (annex A14). */
#ifndef ADV_NIC_MEMORY_DOMAIN_H
#define ADV_NIC_MEMORY_DOMAIN_H

#include "base/list.h"
#include "nic/engine/engine.h"
#include "nic/memory/tpt.h"

struct adv_pd {
	struct adv_tpt *tpt;
	const void *owner;
	struct adv_list node;	/* tpt->pds */
	_Atomic uint32_t users; /* MRs, windows, SRQs, QPs and AHs of the PD, of all engines */
	uint32_t number;	/* object number for resources.c; CQs and SRQs have one, too */
};

struct adv_xrcd {
	struct adv_engine *engine;
	const void *owner;
	struct adv_list node; /* engine->xrcds */
	uint32_t users;	      /* SRQs and QPs of the domain */
};

#endif
