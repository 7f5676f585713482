/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parsers/event.h"

static const char *const event_names[WI_NR_EVENT_TYPES] = {
#define X(t, name) [WI_EV_##t] = name,
	WI_EVENT_TYPES(X)
#undef X
};

const char *wi_event_name(enum wi_event_type type)
{
	return (unsigned int)type < WI_NR_EVENT_TYPES ? event_names[type] : "unknown";
}
