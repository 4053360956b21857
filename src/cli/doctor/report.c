/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb doctor: reports findings as text or JSON. */
#include <stdarg.h>
#include <stdio.h>

#include "cli/doctor/doctor.h"
#include "cli/command/json.h"

void adv_doctor_report(struct adv_doctor *d, enum adv_doctor_verdict verdict, const char *check,
		       const char *remedy, const char *fmt, ...)
{
	static const char *const words[] = {"ok", "slow", "BAD"};
	struct json_object *o;
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	d->bad += verdict == ADV_BAD;
	d->slow += verdict == ADV_SLOW;
	if (!d->findings) {
		printf("%-4s  %-10s  %s\n", words[verdict], check, text);
		if (remedy)
			printf("%18s%s\n", "-> ", remedy);
		fflush(stdout);
		return;
	}
	o = adv_json_object();
	adv_json_add_text(o, "check", check);
	adv_json_add_text(o, "verdict", verdict == ADV_BAD ? "bad" : words[verdict]);
	adv_json_add_text(o, "finding", text);
	adv_json_add(o, "remedy", remedy ? adv_json_text(remedy) : NULL);
	adv_json_append(d->findings, o);
}
